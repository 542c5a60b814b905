import {expect, test} from 'vitest';
import {TransientLine} from '../../cli/transient-line.ts';

function written(isTTY: boolean, act: (line: TransientLine) => void): string {
  let text = '';
  act(new TransientLine({isTTY, columns: 20, write: part => (text += part)}));
  return text;
}

test('a terminal has one line at a time, cut at its width and cleared once', () => {
  const text = written(true, line => {
    line.show('checking a (1 of 2)');
    line.show('checking a tenant with a long name (2 of 2)');
    line.clear();
    line.clear();
  });
  expect(text).toBe('\r\x1b[Kchecking a (1 of 2)\r\x1b[Kchecking a tenant w\r\x1b[K');
});

test('a pipe has nothing', () => {
  const text = written(false, line => {
    line.show('checking');
    line.clear();
  });
  expect(text).toBe('');
});
