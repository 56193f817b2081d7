// Asks a server on the loopback interface whether it is there.
import { connect } from 'node:net';

/**
 * The first bytes a server sends after `request`, or '' when there is nobody.
 * @returns {Promise<string>}
 */
export function firstReply(port, request = '') {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request, 'latin1'));
    const finish = (reply) => {
      socket.destroy();
      resolve(reply);
    };
    socket.setTimeout(5000, () => finish(''));
    socket.once('data', (data) => finish(data.toString('latin1')));
    socket.once('error', () => finish(''));
    socket.once('close', () => finish(''));
  });
}
