/** Reads the text of a `.env` file: names with their values, and lines that are neither. */

export type Assignments = {assignments: [name: string, value: string][]; faults: string[]};

const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/;
const ESCAPES: Readonly<Record<string, string>> = {n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\'};

export function assignmentsIn(text: string): Assignments {
  const values = new Map<string, string>();
  const faults: string[] = [];
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const [, name, value] = ASSIGNMENT.exec(line) ?? [];
    if (name === undefined) faults.push(`Line ${i + 1} is not NAME=value`);
    else values.set(name, unquoted(value!));
  }
  return {assignments: [...values], faults};
}

/** Single quotes keep everything, double quotes know escapes, and without quotes ` #` begins a comment. */
function unquoted(value: string): string {
  const [, single] = /^'([^']*)'/.exec(value) ?? [];
  if (single !== undefined) return single;
  const [, double] = /^"((?:[^"\\]|\\.)*)"/.exec(value) ?? [];
  if (double !== undefined) return double.replace(/\\(.)/g, (all, escaped: string) => ESCAPES[escaped] ?? all);
  return value.replace(/\s+#.*$/, '');
}
