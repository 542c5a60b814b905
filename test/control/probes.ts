/** Code that tries many things one after another, and tells which of them came off. */

/** @param probes expressions by what they try; what does not throw has come off. The code returns them, with what they gave */
export function probing(probes: Readonly<Record<string, string>>): string {
  const tries = Object.entries(probes).map(
    ([name, expression]) =>
      `try { found[${JSON.stringify(name)}] = String(await (async () => (${expression}))()).slice(0, 200); } catch {}`,
  );
  return `const found = {}; ${tries.join('\n')} return found;`;
}
