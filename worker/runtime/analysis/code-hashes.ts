/**
 * What a file of a bundle does, as one number: it changes when the file or anything that it imports changes, and not when the
 * bundler merely names the files it made in another way. Live queries run again when the hash of their function changed.
 */
import {createHash} from 'node:crypto';
import {posix} from 'node:path';
import {parse} from 'es-module-lexer';

export class CodeHashes {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #known = new Map<string, string>();

  /** @param sources path in the bundle → source; each is an ES module that can be parsed. The lexer is initialised. */
  constructor(sources: ReadonlyMap<string, string>) {
    this.#sources = sources;
  }

  /** SHA-256, hex, over the file with what it imports in the place of the paths. */
  of(path: string): string {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const source = this.#sources.get(path) ?? '';
    // In a cycle the source alone stands for it; the bundler makes none.
    this.#known.set(path, createHash('sha256').update(source).digest('hex'));
    const hash = createHash('sha256');
    let from = 0;
    for (const imported of parse(source)[0]) {
      if (imported.type !== 'static' && imported.type !== 'reexport-star') continue;
      // A module of Node or of a package that is not in the bundle stands for itself.
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
