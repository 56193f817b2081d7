/**
 * Speaks the protocol of MongoDB, as far as Mongoose needs it, and keeps what it is sent. It is no
 * MongoDB and stores nothing: it shows which keys leave the process, not what a server makes of
 * them.
 */
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { deserialize, serialize, type Document } from 'bson';

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER_BYTES = 16;

const HELLO = {
  isWritablePrimary: true,
  ismaster: true,
  helloOk: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 21,
};

export interface MongoWire {
  readonly url: string;
  /** Commands that write, in the order of their arrival; emptied by whoever looks. */
  readonly writes: Document[];
  /** What every `find` is answered with. */
  found: Document[];
  close(): Promise<void>;
}

export async function openMongoWire(): Promise<MongoWire> {
  const sockets = new Set<Socket>();
  const wire: MongoWire = {
    url: '',
    writes: [],
    found: [],
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    let rest = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= HEADER_BYTES && rest.length >= rest.readInt32LE(0)) {
        const message = rest.subarray(0, rest.readInt32LE(0));
        rest = rest.subarray(message.length);
        socket.write(answerTo(message, wire));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(wire, { url: `mongodb://127.0.0.1:${port}/shop` });
}

function answerTo(message: Buffer, wire: MongoWire): Buffer {
  // Only the first question is asked in the older form.
  if (message.readInt32LE(12) === OP_QUERY) {
    const before = Buffer.alloc(20);
    before.writeInt32LE(1, 16);
    return framed(OP_REPLY, message, Buffer.concat([before, serialize({ ...HELLO, ok: 1 })]));
  }
  const answer = serialize({ ...answerOf(commandIn(message), wire), ok: 1 });
  return framed(OP_MSG, message, Buffer.concat([Buffer.alloc(5), answer]));
}

function framed(code: number, request: Buffer, body: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  [HEADER_BYTES + body.length, 0, request.readInt32LE(4), code].forEach((field, at) => {
    header.writeInt32LE(field, at * 4);
  });
  return Buffer.concat([header, body]);
}

/** A document, then lists of documents that belong to it. */
function commandIn(message: Buffer): Document {
  const command: Document = {};
  let at = HEADER_BYTES + 4;
  while (at < message.length) {
    const kind = message.readUInt8(at++);
    const size = message.readInt32LE(at);
    const section = message.subarray(at, at + size);
    if (kind === 0) Object.assign(command, deserialize(section));
    else Object.assign(command, listIn(section));
    at += size;
  }
  return command;
}

function listIn(section: Buffer): Document {
  const nameEnd = section.indexOf(0, 4);
  const list: Document[] = [];
  for (let at = nameEnd + 1; at < section.length; at += section.readInt32LE(at)) {
    list.push(deserialize(section.subarray(at, at + section.readInt32LE(at))));
  }
  return { [section.toString('utf8', 4, nameEnd)]: list };
}

function answerOf(command: Document, wire: MongoWire): Document {
  const [name = ''] = Object.keys(command);
  if (/^(hello|ismaster)$/i.test(name)) return HELLO;
  if (name === 'find') {
    return { cursor: { id: 0n, ns: 'shop.orders', firstBatch: wire.found } };
  }
  if (['insert', 'update', 'findAndModify'].includes(name)) wire.writes.push(command);
  if (name === 'findAndModify') return { value: null };
  const documents = command['documents'] as Document[] | undefined;
  return { n: documents?.length ?? 1, nModified: 0 };
}
