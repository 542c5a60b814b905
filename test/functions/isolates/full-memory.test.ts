/**
 * Memory that no limit of an isolate counts, kept by module code: functions are refused while the process has too much of it,
 * and it must not stay with isolates that run nothing.
 */
import {afterEach, expect, test, vi} from 'vitest';
import {FUNCTIONS_PROCESS_BYTES_MAX} from '../../../shared/limits.ts';
import {checkMemory, onFullMemory} from '../../../worker/functions/process-memory.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

afterEach(() => void vi.restoreAllMocks());

test('whoever keeps isolates is asked to let go of them when functions are refused, and not before', () => {
  let nowMs = performance.now() + 1_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1_000));
  const rss = vi.spyOn(process.memoryUsage, 'rss');
  const relieve = vi.fn<() => void>();
  const stop = onFullMemory(relieve);
  rss.mockReturnValue(FUNCTIONS_PROCESS_BYTES_MAX);
  checkMemory();
  expect(relieve).not.toHaveBeenCalled();
  rss.mockReturnValue(FUNCTIONS_PROCESS_BYTES_MAX + 1);
  expect(() => checkMemory()).toThrowError(expect.objectContaining({code: 'session.overloaded'}));
  expect(relieve).toHaveBeenCalledTimes(1);
  stop();
  expect(() => checkMemory()).toThrow();
  expect(relieve).toHaveBeenCalledTimes(1);
});

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
