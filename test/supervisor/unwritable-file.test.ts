import {spawnSync} from 'node:child_process';
import {chmodSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const MODULE = fileURLToPath(new URL('../../engine/storage/tenant-file.ts', import.meta.url));
/** Root may write any file: the look is taken as nobody then, who need not be able to read our own files. */
const NOBODY = 65_534;
const AS_NOBODY = `process.setgid(${NOBODY}); process.setuid(${NOBODY});`;

test.each([
  [0o444, 'EACCES'],
  [0o000, 'EACCES'],
  [0o666, 'opens'],
])(
  'a file with mode %o: refused before it is opened, so that no write of unknown outcome comes of it',
  (mode, outcome) => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
    chmodSync(directory, 0o777);
    const path = join(directory, 'tenant.sqlite');
    writeFileSync(path, 'x');
    chmodSync(path, mode);
    const script = `
    import {checkFileIsThere} from ${JSON.stringify(MODULE)};
    ${process.getuid?.() === 0 ? AS_NOBODY : ''}
    try {
      checkFileIsThere(${JSON.stringify(directory)});
      console.log('opens');
    } catch (caught) {
      console.log(caught.code);
    }`;
    const args = ['--experimental-strip-types', '--no-warnings', '--input-type=module', '-e', script];
    const {stdout, stderr} = spawnSync(process.execPath, args, {encoding: 'utf8'});
    expect({stdout, stderr}).toEqual({stdout: `${outcome}\n`, stderr: ''});
    rmSync(directory, {recursive: true});
  },
);
