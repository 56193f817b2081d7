/**
 * Transcripts that people read to learn how a lease works. Each is what the real parts did, line
 * by line; a change of the protocol shows in them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ToldProcess, Transcript } from './told-process.js';

const TRANSCRIPTS: Record<string, () => Promise<Transcript>> = {
  async lease() {
    const transcript = new Transcript(
      'A lease from its start to its release. A renewal fails, and costs nothing.',
      'The next process begins after the last id that was made.',
    );
    const a = new ToldProcess('A', transcript, 0);
    await a.start();
    a.makeId();
    await transcript.pass(10, a);
    a.makeId();
    transcript.say('store', 'is away');
    transcript.world.isDown = true;
    await transcript.pass(10, a);
    transcript.say('store', 'is back');
    transcript.world.isDown = false;
    await transcript.pass(5, a);
    a.makeId();
    await a.stop();
    a.makeId();
    const b = new ToldProcess('B', transcript, 0);
    await b.start();
    b.makeId();
    await b.stop();
    return transcript;
  },

  async pause() {
    const transcript = new Transcript(
      'A process stands still for longer than its lease, and somebody else gets its worker id.',
      'It goes on where it was: in its own range, below that of the other one.',
    );
    const a = new ToldProcess('A', transcript, 1);
    await a.start();
    await transcript.pass(12, a);
    a.makeId();
    await transcript.pass(1, a);
    transcript.say('A', 'stands still');
    await transcript.pass(62);
    const b = new ToldProcess('B', transcript, 0);
    await b.start();
    b.makeId();
    await transcript.pass(5, b);
    transcript.say('A', 'goes on, and knows nothing of it');
    a.makeId();
    await a.renew();
    a.makeId();
    b.makeId();
    await b.stop();
    await a.stop();
    return transcript;
  },

  async loss() {
    const transcript = new Transcript(
      'The store loses all that it knew. What is granted then begins a ttl later, above all that',
      'may have been forgotten; who has a range uses it to its end.',
    );
    const a = new ToldProcess('A', transcript);
    await a.start();
    await transcript.pass(25, a);
    a.makeId();
    transcript.say('store', 'loses all that it knew');
    transcript.world.registry.state = undefined;
    const b = new ToldProcess('B', transcript);
    await b.start();
    b.makeId();
    await transcript.pass(10, a, b);
    a.makeId();
    await transcript.pass(50, a, b);
    a.makeId();
    b.makeId();
    await a.stop();
    await b.stop();
    return transcript;
  },

  async failover() {
    const transcript = new Transcript(
      'A replica takes over that has not heard of the last lease, and grants its worker id again:',
      'for ids above all that the old server can have granted.',
    );
    const { world } = transcript;
    const a = new ToldProcess('A', transcript);
    await a.start();
    await transcript.pass(5, a);
    transcript.say('store', 'is copied to a replica for the last time');
    const replica = structuredClone(world.registry.state);
    const b = new ToldProcess('B', transcript);
    await b.start();
    b.makeId();
    await transcript.pass(3, a, b);
    transcript.say('store', 'fails, and its replica takes over');
    world.registry.state = replica;
    world.server = 'replica';
    const c = new ToldProcess('C', transcript);
    await c.start();
    c.makeId();
    await transcript.pass(10, a, b, c);
    b.makeId();
    await transcript.pass(70, a, b, c);
    for (const one of [a, b, c]) one.makeId();
    for (const one of [a, b, c]) await one.stop();
    return transcript;
  },
};

describe.each(Object.entries(TRANSCRIPTS))('the transcript %s', (name, run) => {
  // After a change that is meant: UPDATE_TRANSCRIPTS=1 npm test -- test/transcripts
  it('is what a run gives (UPDATE_TRANSCRIPTS=1 writes it again)', async () => {
    const path = `test/transcripts/${name}.txt`;
    const { text } = await run();
    if (process.env['UPDATE_TRANSCRIPTS']) writeFileSync(path, text);
    expect(text).toBe(existsSync(path) ? readFileSync(path, 'utf8') : 'none');
  });
});
