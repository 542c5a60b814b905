import {Buffer} from 'node:buffer';
import {describe, expect, test} from 'vitest';
import {documentText, FLAG_FLOATS, parseDocument, storedDocumentText} from '../../engine/storage/document.ts';

const row = (body: string, flags = 0) => ({doc: 1, id: 'a"\\ü', created: 1.5, updated: 2, body, flags});
const SYSTEM = '"_id":"a\\"\\\\ü","_creationTime":1.5,"_updateTime":2';

function float(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value, 0);
  return `{"$float":"${bytes.toString('base64')}"}`;
}

describe('a document as clients see it has its system fields first', () => {
  test.each([
    ['{}', `{${SYSTEM}}`],
    ['{"a":1,"b":{"c":[]}}', `{${SYSTEM},"a":1,"b":{"c":[]}}`],
    ['{"__proto__":{"x":1}}', `{${SYSTEM},"__proto__":{"x":1}}`],
  ])('%s', (body, text) => {
    expect(documentText(row(body))).toBe(text);
  });

  test('NaN, the infinities and -0 that functions stored show as null, null, null and 0; the stored form keeps them', () => {
    const [nan, up, down, zero] = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0].map(float);
    const body = `{"a":${nan},"b":[${up},${down}],"c":{"d":${zero}},"e":1}`;
    const stored = row(body, FLAG_FLOATS);
    expect(documentText(stored)).toBe(`{${SYSTEM},"a":null,"b":[null,null],"c":{"d":0},"e":1}`);
    expect(storedDocumentText(stored)).toBe(`{${SYSTEM},${body.slice(1)}`);
    expect(parseDocument(stored)).toMatchObject({
      a: Number.NaN,
      b: [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
      c: {d: -0},
      _id: 'a"\\ü',
    });
  });
});
