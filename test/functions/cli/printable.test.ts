/** What users wrote, on an operator's terminal. */
import {describe, expect, test} from 'vitest';
import {printable, printableJson} from '../../../cli/printable.ts';
import {logText} from '../../../cli/project/log-text.ts';

const EVIL = 'a\u001b[2Jb\u009b1mc\u0007d\re\u202ef\u007f';

describe('text of users', () => {
  test('shows control characters and does not send them', () => {
    expect(printable(EVIL)).toBe('a\\x1b[2Jb\\x9b1mc\\x07d\\x0de\\u202ef\\x7f');
    expect(printable('plain\ttext\nin lines: ü😀')).toBe('plain\ttext\nin lines: ü😀');
  });
  test('as JSON keeps its value', () => {
    const json = JSON.stringify({[EVIL]: EVIL}, null, 2);
    expect(printableJson(json)).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    expect(JSON.parse(printableJson(json))).toEqual({[EVIL]: EVIL});
  });
  test('in a log: lines, errors and paths', () => {
    const entry = {
      n: 1,
      at: 0,
      request_id: 'r',
      path: `messages:${EVIL}`,
      kind: 'query',
      caller: 'client',
      outcome: 'error',
      duration_ms: 1,
      error: `Uncaught Error: ${EVIL}`,
      lines: [`[LOG] '${EVIL}'`],
    };
    const text = logText(JSON.stringify(entry), true)!;
    expect(text.split('\n')).toHaveLength(3);
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  });
});
