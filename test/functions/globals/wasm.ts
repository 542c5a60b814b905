/** WebAssembly modules for tests, put together by hand. */

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
/** One function type: () → i32, or (i32) → i32. */
const types = (params: number[]): number[] => section(1, [1, 0x60, params.length, ...params, 1, 0x7f]);
const I32 = 0x7f;

function section(id: number, content: number[]): number[] {
  return [id, content.length, ...content];
}

function exports(name: string, kind: number): number[] {
  return section(7, [1, name.length, ...[...name].map(char => char.charCodeAt(0)), kind, 0]);
}

function code(body: number[]): number[] {
  return section(10, [1, body.length + 2, 0, ...body, 0x0b]);
}

/** f() returns 42. */
export const answer = [...HEADER, ...types([]), ...section(3, [1, 0]), ...exports('f', 0), ...code([0x41, 42])];
/** f() never returns. */
export const loop = [
  ...[...HEADER, ...types([]), ...section(3, [1, 0]), ...exports('f', 0)],
  ...code([0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0]),
];
/** f(pages) grows its memory. @param limits of the memory section: flags, then numbers */
export const memory = (...limits: number[]): number[] => [
  ...[...HEADER, ...types([I32]), ...section(3, [1, 0]), ...section(5, [1, ...limits]), ...exports('f', 0)],
  ...code([0x20, 0, 0x40, 0]),
];
/** Exports its memory as `m`. */
export const exportedMemory = (...limits: number[]): number[] => [
  ...HEADER,
  ...section(5, [1, ...limits]),
  ...exports('m', 2),
];
