/** Which packages are not bundled (`node.externalPackages`), and how the bundler leaves them out. */
import {readFile} from 'node:fs/promises';
import {isBuiltin} from 'node:module';
import {join} from 'node:path';
import type {Plugin} from 'esbuild';
import {projectFailure} from './project-failure.ts';
import {PROJECT_FILE, type Project} from './project-file.ts';

/** The SDK is made for both runtimes and is always bundled. */
const SDK = 'svc';
const EVERY = '*';

export class ExternalPackages {
  /** Names in svc.json: they are there even if nothing imports them in a way that can be seen. */
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

  /** Names of those that are to be installed. */
  get wanted(): string[] {
    return [...new Set([...this.named, ...this.#imported])].sort();
  }

  /** For modules for Node: leaves them out. */
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

  /** For the modules of the default runtime: one that is named is for Node alone. What `*` means there is bundled. */
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

/** `a/b` → `a`, `@a/b/c` → `@a/b`; null: it names none. */
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
