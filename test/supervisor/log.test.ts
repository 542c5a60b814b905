import {describe, expect, test} from 'vitest';
import {createLogger, type LogFields, type LogSettings} from '../../shared/log.ts';

function lines(settings: Partial<LogSettings>, write: (log: ReturnType<typeof createLogger>) => void): string[] {
  const written: string[] = [];
  const now = (): Date => new Date(0);
  write(createLogger({process: 'test'}, {format: 'json', now, write: line => written.push(line), ...settings}));
  return written;
}

function fieldsOf(fields: LogFields): Record<string, unknown> {
  return JSON.parse(lines({}, log => log.info('m', fields))[0]!) as Record<string, unknown>;
}

describe('a log line', () => {
  test('is one JSON object with time, level, message and the fields', () => {
    expect(lines({}, log => log.child({tenant: 'a'}).warn('said', {count: 1, absent: undefined}))).toEqual([
      '{"time":"1970-01-01T00:00:00.000Z","level":"warn","message":"said","process":"test","tenant":"a","count":1}\n',
    ]);
  });

  test('below the level is not written', () => {
    const written = lines({level: 'warn'}, log => {
      log.info('no');
      log.warn('yes');
    });
    expect(written).toHaveLength(1);
  });

  test.each(['json', 'pretty'] as const)('%s: never holds a second line or a terminal sequence', format => {
    const hostile = 'a\nb\r\u001b[31mc\u007f\u009b\u2028d';
    const [line] = lines({format}, log => log.info(hostile, {value: hostile, nested: {hostile}}));
    expect(line!.slice(0, -1)).not.toMatch(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/);
    expect(line).toContain('\\u001b');
  });

  test('cuts a long value and says so', () => {
    expect(fieldsOf({value: 'x'.repeat(5_000)}).value).toBe(`${'x'.repeat(1024)}… (5000 characters)`);
  });

  test('shows an error with its causes', () => {
    const error = new Error('outer', {cause: new TypeError('inner')});
    expect(fieldsOf({error}).error).toMatchObject({
      name: 'Error',
      message: 'outer',
      cause: {name: 'TypeError', message: 'inner'},
    });
  });

  test('bounds what is deep or circular', () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(JSON.stringify(fieldsOf({circular})).length).toBeLessThan(1_000);
  });
});
