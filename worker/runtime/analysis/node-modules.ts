/** What a deploy needs of the Node runtime: its modules looked at, and what old ones left taken away. */
import type {NodeVersion} from '../../../shared/node-version.ts';
import type {FunctionEntry, NodePart, UploadedPackage} from '../../../shared/protocol/functions.ts';
import type {AnalysedFile} from './analysis.ts';
import type {TellStep} from './deploy-progress.ts';

/** What an upload has for Node. */
export type NodeUpload = {
  version: NodeVersion;
  /** With the hashes of their code. */
  modules: {path: string; hash: string}[];
  /** Paths in the bundle of all their code. */
  files: string[];
  /** What they import that is in none of those. */
  packages: UploadedPackage[];
};

export type AnalysedNode = {part: NodePart; functions: FunctionEntry[]};

export type NodeAnalysisOptions = {
  /** The tenant's variables. */
  env: Readonly<Record<string, string>>;
  /** Told what takes a moment. */
  tell: TellStep;
};

export type NodeModules = {
  /**
   * Runs the modules once, in a Node process of their own.
   * @param files by path in the bundle
   * @throws op.invalid_input 400 with every reason in `detail.errors`
   */
  analyze(
    upload: NodeUpload,
    files: ReadonlyMap<string, AnalysedFile>,
    how: NodeAnalysisOptions,
  ): Promise<AnalysedNode>;
  /** Takes away what no deployment has any more. */
  forget(kept: () => readonly NodePart[]): Promise<void>;
};
