/**
 * The destination of an export: a file that appears under its name only when it is complete and on disk, or standard
 * output. Writes wait for the reader, so a slow disk or pipe slows the export down instead of filling memory.
 */
import type {Buffer} from 'node:buffer';
import {type FileHandle, open, realpath, rename, rm, stat} from 'node:fs/promises';
import {CommandFailure} from '../failure.ts';

export interface Output {
  write(bytes: Buffer): Promise<void>;
  /** Everything is written: make it durable. */
  finish(): Promise<void>;
  /** Leave nothing behind. */
  abandon(): Promise<void>;
}

/** The reader of standard output has gone (`svc export … | head`): the export has no recipient. */
export class ReaderGone extends Error {
  override name = 'ReaderGone';
}

export async function openOutput(file: string): Promise<Output> {
  return file === '-' ? new StandardOutput() : await FileOutput.open(file);
}

class FileOutput implements Output {
  readonly #path: string;
  /** The temporary path until it is complete. */
  readonly #writtenPath: string;
  readonly #handle: FileHandle;

  private constructor(path: string, writtenPath: string, handle: FileHandle) {
    this.#path = path;
    this.#writtenPath = writtenPath;
    this.#handle = handle;
  }

  /**
   * An existing target that is not a regular file (a device, a named pipe) is written to directly: renaming would
   * replace it.
   */
  static async open(path: string): Promise<FileOutput> {
    const target = await realpath(path).catch(() => path); // it does not exist yet
    const found = await stat(target).catch(() => null);
    const writtenPath = found === null || found.isFile() ? `${target}.${process.pid}.tmp` : target;
    return new FileOutput(target, writtenPath, await reported(path, open(writtenPath, 'w')));
  }

  async write(bytes: Buffer): Promise<void> {
    await reported(this.#path, this.#handle.appendFile(bytes));
  }

  async finish(): Promise<void> {
    if (this.#writtenPath !== this.#path) await reported(this.#path, this.#handle.sync());
    await this.#handle.close();
    if (this.#writtenPath !== this.#path) await reported(this.#path, rename(this.#writtenPath, this.#path));
  }

  async abandon(): Promise<void> {
    await this.#handle.close();
    if (this.#writtenPath !== this.#path) await rm(this.#writtenPath, {force: true});
  }
}

class StandardOutput implements Output {
  #error: NodeJS.ErrnoException | null = null;

  constructor() {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      this.#error ??= error;
    });
  }

  async write(bytes: Buffer): Promise<void> {
    await new Promise<void>(resolve => process.stdout.write(bytes, () => resolve()));
    if (this.#error?.code === 'EPIPE') throw new ReaderGone('standard output is closed');
    if (this.#error !== null) throw cannotWrite('standard output', this.#error);
  }

  async finish(): Promise<void> {}

  async abandon(): Promise<void> {}
}

async function reported<T>(path: string, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (caught) {
    throw cannotWrite(path, caught as Error);
  }
}

function cannotWrite(path: string, cause: Error): CommandFailure {
  return new CommandFailure(`cannot write ${path}: ${cause.message}`, 1, {cause});
}
