/**
 * Hashes the behaviour of a bundled file. The hash changes when the file or anything that it imports changes, but not
 * when the bundler only renames its output files. A live query runs again when the hash of its function has changed.
 */
import {createHash} from 'node:crypto';
import {posix} from 'node:path';
import {parse} from 'es-module-lexer';

export class CodeHashes {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #known = new Map<string, string>();

  /** @param sources path in the bundle → source; each is an ES module that parses. The lexer must be initialised. */
  constructor(sources: ReadonlyMap<string, string>) {
    this.#sources = sources;
  }

  /** SHA-256, hex, over the file with the hashes of its imports instead of their paths. */
  of(path: string): string {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const source = this.#sources.get(path) ?? '';
    // In a cycle, only the source is hashed; the bundler makes no cycles.
    this.#known.set(path, createHash('sha256').update(source).digest('hex'));
    const hash = createHash('sha256');
    let from = 0;
    for (const imported of parse(source)[0]) {
      if (imported.type !== 'static' && imported.type !== 'reexport-star') continue;
      // A module of Node, or of a package that is not in the bundle, is identified by its name.
      if (!imported.specifier.startsWith('.')) continue;
      hash.update(source.slice(from, imported.start));
      hash.update(this.of(posix.join(posix.dirname(path), imported.specifier)));
      from = imported.end;
    }
    const made = hash.update(source.slice(from)).digest('hex');
    this.#known.set(path, made);
    return made;
  }
}
