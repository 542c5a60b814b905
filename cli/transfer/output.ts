/**
 * Where an export goes: a file that appears under its name only when it is complete and on disk, or standard output. Writing
 * waits for whoever reads, so a slow disk or pipe slows the export down instead of filling memory.
 */
import {Buffer} from 'node:buffer';
import {type FileHandle, open, rename, rm} from 'node:fs/promises';
import {CommandFailure} from '../failure.ts';

export interface Output {
  write(bytes: Buffer): Promise<void>;
  /** Everything is written: make it last. */
  finish(): Promise<void>;
  /** Leave nothing behind. */
  abandon(): Promise<void>;
}

/** The reader of standard output has gone (`svc export … | head`): there is nobody left to export for. */
export class ReaderGone extends Error {
  override name = 'ReaderGone';
}

export async function openOutput(file: string): Promise<Output> {
  return file === '-' ? new StandardOutput() : await FileOutput.open(file);
}

class FileOutput implements Output {
  readonly #path: string;
  readonly #temporary: string;
  readonly #handle: FileHandle;

  private constructor(path: string, temporary: string, handle: FileHandle) {
    this.#path = path;
    this.#temporary = temporary;
    this.#handle = handle;
  }

  static async open(path: string): Promise<FileOutput> {
    const temporary = `${path}.${process.pid}.tmp`;
    return new FileOutput(path, temporary, await reported(path, open(temporary, 'w', 0o600)));
  }

  async write(bytes: Buffer): Promise<void> {
    await reported(this.#path, this.#handle.appendFile(bytes));
  }

  async finish(): Promise<void> {
    await reported(this.#path, this.#handle.sync());
    await this.#handle.close();
    await reported(this.#path, rename(this.#temporary, this.#path));
  }

  async abandon(): Promise<void> {
    await this.#handle.close();
    await rm(this.#temporary, {force: true});
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
