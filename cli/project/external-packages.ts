/** Determines which packages are not bundled (`node.externalPackages`), and makes the bundler leave them out. */
import {readFile} from 'node:fs/promises';
import {isBuiltin} from 'node:module';
import {join} from 'node:path';
import type {Plugin} from 'esbuild';
import {projectFailure} from './project-failure.ts';
import {PROJECT_FILE, type Project} from './project-file.ts';

/** The SDK supports both runtimes and is always bundled. */
const SDK = 'svc';
const EVERY = '*';

export class ExternalPackages {
  /** Names in svc.json: these are included even if no visible import uses them. */
  readonly named: readonly string[];
  readonly #names: ReadonlySet<string>;
  readonly #imported = new Set<string>();

  private constructor(named: readonly string[], names: Iterable<string>) {
    this.named = named;
    this.#names = new Set(names);
  }

  /** @throws ProjectFailure */
  static async of({root, node: {externalPackages}}: Project): Promise<ExternalPackages> {
    if (externalPackages.includes(EVERY)) return new ExternalPackages([], await dependenciesIn(root));
    for (const name of externalPackages) {
      if (name === packageName(name) && !isBuiltin(name) && name !== SDK) continue;
      throw projectFailure(
        `"node.externalPackages": ${JSON.stringify(name)} is no name of a package, like "sharp" or "@aws-sdk/client-s3"`,
        PROJECT_FILE,
      );
    }
    return new ExternalPackages(externalPackages, externalPackages);
  }

  /** Names of those to install. */
  get wanted(): string[] {
    return [...new Set([...this.named, ...this.#imported])].sort();
  }

  /** For modules for Node: leaves the external packages out. */
  plugin(): Plugin {
    return {
      name: 'svc-external-packages',
      setup: ({onResolve}) => {
        onResolve({filter: /^[^./]/}, ({path, kind}) => {
          const name = packageName(path);
          if (kind === 'entry-point' || name === null || !this.#names.has(name) || isBuiltin(path)) return null;
          this.#imported.add(name);
          return {path, external: true};
        });
      },
    };
  }

  /**
   * For modules of the default runtime: a named package is only for Node. Packages that `*` covers are bundled there.
   */
  refusal(): Plugin {
    return {
      name: 'svc-external-packages',
      setup: ({onResolve}) => {
        if (this.named.length === 0) return;
        onResolve({filter: /^[^./]/}, ({path, kind, importer}) => {
          const name = packageName(path);
          if (kind === 'entry-point' || name === null || !this.named.includes(name)) return null;
          if (/[\\/]node_modules[\\/]/.test(importer)) return null;
          const message = `${JSON.stringify(name)} is one of "node.externalPackages" in svc.json: it is installed for modules with "use node", and only they can import it; call their actions, or take it out of the list`;
          return {errors: [{text: message}]};
        });
      },
    };
  }
}

/** `a/b` → `a`, `@a/b/c` → `@a/b`; null if it names no package. */
function packageName(specifier: string): string | null {
  return /^(?:@[\w~-][\w.~-]*\/)?[\w~-][\w.~-]*(?=\/|$)/.exec(specifier)?.[0] ?? null;
}

async function dependenciesIn(root: string): Promise<string[]> {
  let text: string;
  try {
    text = await readFile(join(root, 'package.json'), 'utf8');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught;
    throw projectFailure(
      '"node.externalPackages": ["*"] means the dependencies in package.json, which is not there',
      PROJECT_FILE,
    );
  }
  try {
    const {dependencies = {}, optionalDependencies = {}} = JSON.parse(text) as Record<string, object>;
    return Object.keys({...dependencies, ...optionalDependencies}).filter(name => name !== SDK);
  } catch (caught) {
    throw projectFailure(`is not JSON: ${(caught as Error).message}`, 'package.json');
  }
}
