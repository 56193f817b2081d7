/**
 * A load balancer: two requests go to each of the applications in turn. With one, the two questions
 * of the page would always reach the same two.
 */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export class RoundRobin {
  /** Where requests go; a test may take one out. */
  targets: string[] = [];
  private turn = 0;
  private readonly server: Server;

  constructor() {
    this.server = createServer((incoming, outgoing) => {
      const target = this.targets[(this.turn++ >> 1) % this.targets.length]!;
      const { method, headers } = incoming;
      const onward = request(target + incoming.url!, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.writeHead(502).end());
      incoming.pipe(onward);
    });
  }

  async listen(...targets: string[]): Promise<string> {
    this.targets = targets;
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
