/**
 * Values that are made on first use. They are read through getters of a prototype, which costs a call that the compiler
 * inlines: a statement is read for each row that is written.
 */
type Makers = Readonly<Record<string, () => unknown>>;
export type Made<M extends Makers> = {readonly [Name in keyof M]: ReturnType<M[Name]>};

export function onFirstUse<M extends Makers>(makers: M): Made<M> {
  const made: unknown[] = [];
  const prototype = {};
  for (const [place, [name, make]] of Object.entries(makers).entries()) {
    made.push(undefined);
    Object.defineProperty(prototype, name, {
      enumerable: true,
      get: () => (made[place] ??= make()),
    });
  }
  return Object.create(prototype) as Made<M>;
}
