/**
 * Finds the runtime that a module requests: a directive (`"use node"`) at the top of its file names it; without one it
 * runs in the default runtime. A module for a runtime that this build lacks is refused at deploy time, never run
 * elsewhere: by the command, which sees the sources, and by the server, which trusts no command.
 */
export type Runtime = 'default' | 'node' | 'bun';

/** Text that can precede a directive: blanks, comments, other directives. */
const PROLOGUE = /^(?:\s+|\/\/.*|\/\*[\s\S]*?\*\/|;|(['"])(?!use (?:node|bun)\1)[^'"\n]*\1)*/;
const DIRECTIVE = /^(['"])use (node|bun)\1/;

/** @param source of a file, or of a bundled module: bundlers keep its directives at the top */
export function runtimeOf(source: string): {runtime: Runtime; line: number} {
  const text = source.replace(/^\uFEFF?(?:#!.*)?/, '');
  const [before] = PROLOGUE.exec(text)!;
  const directive = DIRECTIVE.exec(text.slice(before.length));
  const runtime = directive === null ? 'default' : (directive[2] as Runtime);
  return {runtime, line: before.split('\n').length};
}

/** Why a module with `"use bun"` cannot be deployed. */
export const NO_BUN = '"use bun": this server has no Bun runtime adapter';
/** Why these modules cannot be for Node. */
export const NOT_FOR_NODE =
  '"use node": HTTP routes, crons, schemas and auth configs run in the default runtime; call an action of a module with "use node" from there';

/** Whether a module with this path, because of its purpose, runs only in the default runtime. */
export function isDefaultOnly(module: string): boolean {
  return ['http', 'crons', 'schema', 'auth.config'].includes(module);
}
