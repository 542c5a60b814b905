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
    import {query, action} from './_generated/server';
    const kept: unknown[] = [];
    function keep() {
      for (let i = 0; i < 16; i++) {
        const memory = new WebAssembly.Memory({initial: 512, maximum: 512});
        const bytes = new Uint8Array(memory.buffer);
        for (let at = 0; at < bytes.length; at += 4096) bytes[at] = 1;
        kept.push(memory);
      }
      return kept.length;
    }
    export const one = query({args: {}, handler: () => 1});
    export const keepInQuery = query({args: {}, handler: keep});
    export const keepInAction = action({args: {}, handler: async () => keep()});`,
};

test.each(['query', 'action'] as const)('what calls of a %s kept is let go of when others are refused', async kind => {
  const service = await Service.start();
  try {
    const app = await App.deploy(service, FILES);
    const call = (route: string, path: string) => app.svc('POST', `/${route}`, {path, args: {}});
    const keep = () => call(kind, kind === 'query' ? 'f:keepInQuery' : 'f:keepInAction');
    // Several at a time, so that several isolates keep it; then all have ended.
    await until('refusals', async () => {
      const replies = await Promise.all([keep(), keep(), keep()]);
      return replies.some(({text}) => text.includes('too much memory'));
    });
    let refusals = 0;
    await until('a call that is served', async () => {
      const {status, text} = await call('query', 'f:one');
      if (status === 200) return true;
      expect(text).toContain('too much memory');
      // Looks are 20 ms apart: long before an idle isolate would end by itself.
      expect(++refusals).toBeLessThan(250);
      return false;
    });
  } finally {
    await service.stop();
  }
});
