/**
 * Names of the environment variables that code reads, as far as its text shows them: `process.env.NAME`,
 * `process.env["NAME"]` and `const {NAME} = process.env`. A name that is computed is not found, one in a comment is.
 */
const READ = /\bprocess\.env(?:\.([A-Za-z_]\w*)|\[\s*["'`]([A-Za-z_]\w*)["'`]\s*\])/g;
const TAKEN_APART = /\{([^{}]*)\}\s*=\s*process\.env\b/g;

export function variablesRead(code: string): Set<string> {
  const names = new Set<string>();
  if (!code.includes('process.env')) return names;
  for (const [, dotted, quoted] of code.matchAll(READ)) names.add((dotted ?? quoted)!);
  for (const [, inside] of code.matchAll(TAKEN_APART)) {
    for (const part of inside!.split(',')) {
      const name = /^\s*([A-Za-z_]\w*)/.exec(part)?.[1];
      if (name !== undefined) names.add(name);
    }
  }
  return names;
}
