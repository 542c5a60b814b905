/**
 * The files of `svc init --compat`: a package called `convex` in the project, which exports svc under the names that
 * libraries for Convex import. Path → text.
 */
const FOLDER = 'convex-compat';
const ENTRIES = ['browser', 'react', 'server', 'values'];
/** A version that libraries from 2025 on accept. */
const VERSION = '1.99.0';

/** The dependency for the project's package.json. */
export const COMPAT_DEPENDENCY = {convex: `file:./${FOLDER}`};

export function compatFiles(): Record<string, string> {
  const exported = Object.fromEntries(
    ENTRIES.map(entry => [`./${entry}`, {types: `./${entry}.d.ts`, default: `./${entry}.js`}]),
  );
  const manifest = {
    name: 'convex',
    version: VERSION,
    private: true,
    description: 'svc under the names that libraries made for Convex import',
    type: 'module',
    exports: {...exported, './package.json': './package.json'},
  };
  const files: Record<string, string> = {[`${FOLDER}/package.json`]: `${JSON.stringify(manifest, null, 2)}\n`};
  for (const entry of ENTRIES) {
    for (const extension of ['js', 'd.ts'])
      files[`${FOLDER}/${entry}.${extension}`] = `export * from 'svc/compat/${entry}';\n`;
  }
  return files;
}
