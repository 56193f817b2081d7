// Client processes that live through a round: one question, one answer over the channel of fork().
//
// Guarantee: a child that throws, ends early or does not answer in time makes ask() fail with the
// child's stderr, and no child outlives this process.
import { fork } from 'node:child_process';
import { once } from 'node:events';

const ANSWER_TIMEOUT_MS = 120_000;
const STDERR_LENGTH_MAX = 4000;

/** @type {Set<() => void>} */
const running = new Set();
process.on('exit', () => {
  for (const kill of running) kill();
});

/** @param {URL} file a module that calls serve() */
export function startChild(file) {
  const child = fork(file, { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] });
  let stderr = '';
  child.stderr.on('data', (text) => (stderr = (stderr + text).slice(-STDERR_LENGTH_MAX)));
  // 'close' comes after the last of stderr, 'exit' may come before it.
  const closed = once(child, 'close');
  const kill = () => child.kill('SIGKILL');
  running.add(kill);

  function ask(name, value) {
    return new Promise((resolve, reject) => {
      const fail = (reason) => {
        settle();
        reject(new Error(`The client process (${child.pid}) at '${name}': ${reason}\n${stderr}`));
      };
      const timer = setTimeout(() => fail('no answer within 120 s'), ANSWER_TIMEOUT_MS);
      const onMessage = (message) => {
        settle();
        resolve(message.answer);
      };
      const onClose = (code, signal) => fail(`it ended with ${code ?? signal}`);
      const settle = () => {
        clearTimeout(timer);
        child.off('message', onMessage);
        child.off('close', onClose);
      };
      child.once('message', onMessage);
      child.once('close', onClose);
      child.send({ name, value }, (error) => error && fail(error.message));
    });
  }

  async function stop() {
    kill();
    await closed;
    running.delete(kill);
  }
  return { ask, stop };
}

/** In the child: answers each question by the function of its name; an error ends the process. */
export function serve(questions) {
  const reply = async ({ name, value }) => process.send({ answer: await questions[name](value) });
  // Not caught on purpose: a rejection ends the process, and ask() shows its stderr.
  process.on('message', (message) => void reply(message));
  process.on('disconnect', () => process.exit(1));
}
