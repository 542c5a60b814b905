/**
 * Watches a project's files and combines many changes into one. Generated code is excluded, because a deploy writes it
 * itself; files that modules import from outside the functions' directory are included as soon as they are known.
 */
import {once} from 'node:events';
import {isAbsolute, join, relative, sep} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {type FSWatcher, watch} from 'chokidar';
import {LOCK_FILE} from './lock-file.ts';
import {GENERATED_DIRECTORY} from './modules.ts';
import {functionsRoot, PROJECT_FILE, type Project} from './project-file.ts';

/** Editors write several files at once: changes within this time belong together. */
const SETTLE_MS = 100;

export class SourceChanges {
  readonly #project: Project;
  readonly #watcher: FSWatcher;
  #arrived = new AbortController();

  private constructor(project: Project) {
    this.#project = project;
    // If packages are not bundled, the locked ones are deployed.
    const locked = project.node.externalPackages.length === 0 ? [] : [join(project.root, LOCK_FILE)];
    this.#watcher = watch([functionsRoot(project), join(project.root, PROJECT_FILE), ...locked], {
      ignoreInitial: true,
      ignored: path => this.#isIgnored(path),
    });
    this.#watcher.on('all', () => this.#arrived.abort());
  }

  /** From now on every change is noticed. */
  static async watch(project: Project): Promise<SourceChanges> {
    const changes = new SourceChanges(project);
    await once(changes.#watcher, 'ready');
    return changes;
  }

  /** @param sources relative to the project; those in the functions' directory are watched in any case */
  add(sources: readonly string[]): void {
    const {root, functions} = this.#project;
    const outside = sources.filter(source => !source.startsWith(`${functions}/`));
    this.#watcher.add(outside.map(source => join(root, source)));
  }

  /** Waits for a change since the last one that it returned. @returns false if the signal came first */
  async next(signal: AbortSignal): Promise<boolean> {
    const either = AbortSignal.any([signal, this.#arrived.signal]);
    if (!either.aborted) await once(either, 'abort');
    if (signal.aborted) return false;
    await delay(SETTLE_MS);
    this.#arrived = new AbortController();
    return true;
  }

  close(): Promise<void> {
    return this.#watcher.close();
  }

  #isIgnored(path: string): boolean {
    const inProject = relative(this.#project.root, path);
    const generated = `${this.#project.functions}/${GENERATED_DIRECTORY}`.split('/').join(sep);
    if (inProject === generated || inProject.startsWith(generated + sep)) return true;
    return !isAbsolute(inProject) && inProject.split(sep).includes('node_modules');
  }
}
