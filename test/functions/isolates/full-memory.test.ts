/**
 * Memory that no limit of an isolate counts, kept by module code: functions are refused while the process has too much of it,
 * and it must not stay with isolates that run nothing.
 */
import {expect, test} from 'vitest';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const FILES = {
  'f.ts': `
    import {query} from './_generated/server';
    const kept: unknown[] = [];
    export const one = query({args: {}, handler: () => 1});
    export const keep = query({args: {}, handler: () => {
      for (let i = 0; i < 4; i++) {
        const memory = new WebAssembly.Memory({initial: 512, maximum: 512});
        const bytes = new Uint8Array(memory.buffer);
        for (let at = 0; at < bytes.length; at += 4096) bytes[at] = 1;
        kept.push(memory);
      }
    }});`,
};

test('what queries kept is let go of when others are refused', async () => {
  const service = await Service.start();
  try {
    const app = await App.deploy(service, FILES);
    const call = (path: string) => app.svc('POST', '/query', {path, args: {}});
    await until('a refusal', async () => (await call('f:keep')).text.includes('too much memory'));
    let refusals = 0;
    await until('a call that is served', async () => {
      const {status, text} = await call('f:one');
      if (status === 200) return true;
      expect(text).toContain('session.overloaded');
      // Looks are 20 ms apart: long before an idle isolate would end by itself.
      expect(++refusals).toBeLessThan(250);
      return false;
    });
  } finally {
    await service.stop();
  }
});
