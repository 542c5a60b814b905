/** The built `svc/browser`: its size, and that it loads and works wherever it is said to. */
import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, symlinkSync} from 'node:fs';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {packagesNamed} from '../harness/declarations.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function bundled(contents: string): Promise<string> {
  const {outputFiles} = await build({
    stdin: {contents, resolveDir: app},
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    logLevel: 'silent',
  });
  return outputFiles![0]!.text;
}

const run = promisify(execFile);

/** A folder in which the package is installed. */
let app: string;
beforeAll(() => {
  app = mkdtempSync(join(tmpdir(), 'svc-app-'));
  mkdirSync(join(app, 'node_modules'));
  symlinkSync(root, join(app, 'node_modules/svc'));
});
afterAll(() => rmSync(app, {recursive: true}));

describe('the bundle', () => {
  test('of both clients is at most 13 kB, minified and compressed', async () => {
    const text = await bundled("export {SvcClient, SvcHttpClient} from 'svc/browser'");
    expect(gzipSync(text, {level: 9}).length).toBeLessThanOrEqual(13_000);
  });

  test('of SvcHttpClient alone holds nothing of sockets', async () => {
    const text = await bundled("export {SvcHttpClient} from 'svc/browser'");
    expect(text).not.toContain('client_hello');
    expect(gzipSync(text, {level: 9}).length).toBeLessThanOrEqual(4_000);
  });

  test('of an import that is not used is empty', async () => {
    expect(await bundled("import {SvcClient} from 'svc/browser'; import {v} from 'svc/values'; console.log(1)")).toBe(
      'console.log(1);\n',
    );
  });

  test('imports nothing of Node, and touches no page when it is loaded', async () => {
    const text = await bundled("export * from 'svc/browser'");
    expect(text).not.toMatch(/\bfrom"|\brequire\(|\bprocess\b|\bBuffer\b/);
    const {stdout} = await run(process.execPath, [
      '--experimental-vm-modules',
      '--no-warnings',
      '--input-type=module',
      '-e',
      // An environment with the language alone, as workers of edges have it.
      `import {createContext, SourceTextModule} from 'node:vm';
       const module = new SourceTextModule(${JSON.stringify(text)}, {context: createContext({})});
       await module.link(() => { throw new Error('an import') });
       await module.evaluate();
       console.log(Object.keys(module.namespace).join());`,
    ]);
    expect(stdout.trim()).toBe(
      'SvcClient,SvcHttpClient,insertAtBottomIfLoaded,insertAtPosition,insertAtTop,onPaginatedUpdate,' +
        'optimisticallyUpdateValueInPaginatedQuery,preloadQuery,preloadedQueryResult',
    );
  });

  test('of an app with generated references holds nothing of the server platform', async () => {
    const text = await bundled(`import {anyApi} from 'svc/server'; export const api = anyApi;`);
    expect(text.length).toBeLessThan(2_000);
  });
});

/** A server of HTTP calls; what it answers says what it was asked. */
describe('works in', () => {
  let server: Server;
  let url: string;
  let script: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      request.setEncoding('utf8');
      let body = '';
      request.on('data', text => (body += text));
      request.on('end', () => response.end(JSON.stringify({status: 'success', value: JSON.parse(body).args})));
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/svc/acme`;
    script = await bundled(
      `import {SvcClient, SvcHttpClient} from 'svc/browser';
       const http = new SvcHttpClient(${JSON.stringify(url)});
       const args = await http.query('m:f', {a: [1, NaN]});
       const live = new SvcClient(${JSON.stringify(url)}, {logger: false});
       live.onUpdate('m:f', {}, () => {});
       const {isWebSocketConnected} = live.connectionState();
       await live.close();
       console.log(JSON.stringify([args.a.length, Number.isNaN(args.a[1]), isWebSocketConnected]));`,
    );
  });
  afterAll(() => void server.close());

  test('Node, with its own WebSocket', async () => {
    const {stdout, stderr} = await run(process.execPath, ['--input-type=module', '-e', script]);
    expect([stdout.trim(), stderr]).toEqual(['[2,true,false]', '']);
  });

  test('a worker thread', async () => {
    const worker = `import {Worker} from 'node:worker_threads';
      new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(script)})));`;
    const {stdout, stderr} = await run(process.execPath, ['--input-type=module', '-e', worker]);
    expect([stdout.trim(), stderr]).toEqual(['[2,true,false]', '']);
  });
});

test('the declarations name nothing that an app has not installed', () => {
  const {packages, files} = packagesNamed(join(root, 'dist/sdk/browser.d.ts'));
  expect(files).toBeGreaterThan(5);
  expect(packages).toEqual([]);
});
