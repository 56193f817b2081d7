/**
 * TLS with a certificate authority of one's own. A URL cannot carry one: NODE_EXTRA_CA_CERTS of
 * the process does, or a client that is given.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../scripts/servers/free-port.mjs';

/** @import { Stage } from './stage.mjs' */

const DAYS = ['-days', '2'];

function openssl(/** @type {string} */ folder, /** @type {readonly string[]} */ args) {
  const made = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`openssl ${args.join(' ')}:\n${made.stderr || made.error}`);
}

/** An authority `<name>.crt`, which signs. */
function makeAuthority(/** @type {string} */ folder, /** @type {string} */ name) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`];
  openssl(folder, ['req', '-x509', ...key, ...files, ...DAYS, '-subj', `/CN=${name}`]);
}

/** `<name>.crt` for a server or a client that is called `altName`. */
function makeCertificate(folder, /** @type {{ name: string, altName: string }} */ { name, altName }) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
  openssl(folder, ['req', ...key, ...request]);
  writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${altName}\n`);
  const signed = ['-in', `${name}.csr`, '-out', `${name}.crt`, '-extfile', `${name}.ext`];
  const by = ['-CA', 'authority.crt', '-CAkey', 'authority.key', '-CAcreateserial'];
  openssl(folder, ['x509', '-req', ...signed, ...by, ...DAYS]);
}

export async function playCertificates(/** @type {Stage} */ stage) {
  const folder = join(stage.folder, 'certificates');
  mkdirSync(folder, { recursive: true });
  makeAuthority(folder, 'authority');
  makeAuthority(folder, 'stranger');
  makeCertificate(folder, { name: 'server', altName: 'IP:127.0.0.1' });
  makeCertificate(folder, { name: 'elsewhere', altName: 'DNS:redis.example' });
  makeCertificate(folder, { name: 'shop', altName: 'DNS:shop.example' });
  const text = (/** @type {string} */ name) => readFileSync(join(folder, name), 'utf8');
  const ca = text('authority.crt');
  const port = await tlsServer(stage, folder, 'server');
  const url = { support: `rediss://127.0.0.1:${port.tls}` };
  const client = (/** @type {object} */ tls, of = port.tls) => ({
    client: { options: { port: of, tls } },
  });
  const member = stage.process();
  const refused = (/** @type {object} */ settings, /** @type {RegExp} */ word) =>
    stage.isRefused(settings, { words: [word], isFinal: false }, member);
  await refused(url, /certificate/);
  await refused(client({}), /certificate/);
  await refused(client({ ca: text('stranger.crt') }), /certificate/);
  const elsewhere = await tlsServer(stage, folder, 'elsewhere');
  await refused(client({ ca }, elsewhere.tls), /altnames|host/i);
  const strict = await tlsServer(stage, folder, 'server', 'yes');
  await refused(client({ ca }, strict.tls), /certificate/i);
  // Without TLS to where TLS is spoken, and the other way round.
  await refused({ support: `redis://127.0.0.1:${port.tls}` }, /closed|reset|TLS/i);
  await refused({ support: `rediss://127.0.0.1:${port.plain}` }, /SSL|TLS/i);
  const extra = stage.process({ NODE_EXTRA_CA_CERTS: join(folder, 'authority.crt') });
  const own = { ca, cert: text('shop.crt'), key: text('shop.key') };
  await Promise.all([
    stage.runs(url, extra),
    stage.runs(client({ ca })),
    stage.runs(client({ ca, servername: 'redis.example' }, elsewhere.tls), member),
    stage.runs(client(own, strict.tls), member),
  ]);
  await stage.sleep(1500);
}

/** @param {Stage} stage @param {string} folder @param {string} name @param {'yes' | 'no'} [asks] */
async function tlsServer(stage, folder, name, asks = 'no') {
  const tls = await freePort();
  const file = (/** @type {string} */ ending) => join(folder, `${name}.${ending}`);
  const certificate = ['--tls-cert-file', file('crt'), '--tls-key-file', file('key')];
  const authority = ['--tls-ca-cert-file', join(folder, 'authority.crt')];
  const all = [...certificate, ...authority, '--tls-auth-clients', asks];
  const { port } = await stage.redis({ args: ['--tls-port', String(tls), ...all] });
  return { tls, plain: port };
}
