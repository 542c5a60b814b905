/** A file that is made of a copy while its disk takes no more: the caller gets the error, and nothing of it is left open. */
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const NEW_COPY = fileURLToPath(new URL('../../engine/copies/new-copy.ts', import.meta.url));
const MODEL = fileURLToPath(new URL('model.ts', import.meta.url));
const PAGE_BYTES = 65_536;
/** Several batches of them are under way at once. */
const PAGES = 256;
const SCRIPT = `
  import {randomFillSync} from 'node:crypto';
  import {existsSync, readdirSync, readlinkSync} from 'node:fs';
  import {NewCopy} from ${JSON.stringify(NEW_COPY)};
  import {setOf} from ${JSON.stringify(MODEL)};
  const path = process.argv[1];
  const pages = Array.from({length: ${PAGES}}, () => randomFillSync(Buffer.alloc(${PAGE_BYTES})));
  const copy = new NewCopy(path);
  let code = null;
  try {
    await copy.apply(setOf({pageBytes: ${PAGE_BYTES}, states: [pages]}, {first: 0, last: 1}));
    await copy.finish(false);
  } catch (caught) {
    code = caught.code;
  }
  await copy.close();
  const fds = existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd') : [];
  const isOpen = fds.some(fd => {
    try {
      return readlinkSync('/proc/self/fd/' + fd) === path;
    } catch {
      return false; // that of the listing
    }
  });
  process.stdout.write(JSON.stringify({code, isOpen}));
`;

/** @param kib that a file of the process can have */
function made(kib: number | 'unlimited'): unknown {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-new-copy-'));
  try {
    const node = [process.execPath, '--experimental-strip-types', '--no-warnings', '--input-type=module', '-e', SCRIPT];
    const path = join(directory, 'copy.sqlite');
    const args = ['-c', 'ulimit -f "$0" && exec "$@"', String(kib), ...node, path];
    return JSON.parse(execFileSync('bash', args, {encoding: 'utf8'}));
  } finally {
    rmSync(directory, {recursive: true});
  }
}

test('a disk that takes all of it', () => {
  expect(made('unlimited')).toEqual({code: null, isOpen: false});
});

test.each([0.3, 0.9, 0.999])('a disk that takes %s of it', part => {
  expect(made(Math.floor((part * PAGES * PAGE_BYTES) / 1_024))).toEqual({code: 'EFBIG', isOpen: false});
});
