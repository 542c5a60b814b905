/** A deploy's interface to the Node runtime: it analyses the Node modules, and removes the code of old ones. */
import type {NodeVersion} from '../../../shared/node-version.ts';
import type {FunctionEntry, NodePart, UploadedPackage} from '../../../shared/protocol/functions.ts';
import type {AnalysedFile} from './analysis.ts';
import type {TellStep} from './deploy-progress.ts';

/** The part of an upload that is for Node. */
export type NodeUpload = {
  version: NodeVersion;
  /** With the hashes of their code. */
  modules: {path: string; hash: string}[];
  /** Paths of all their code in the bundle. */
  files: string[];
  /** Imported packages that are not in those files. */
  packages: UploadedPackage[];
};

export type AnalysedNode = {part: NodePart; functions: FunctionEntry[]};

export type NodeAnalysisOptions = {
  /** The tenant's variables. */
  env: Readonly<Record<string, string>>;
  /** Reports steps that take time. */
  tell: TellStep;
};

export type NodeModules = {
  /**
   * Runs the modules once, in their own Node process.
   * @param files by path in the bundle
   * @throws op.invalid_input 400 with every reason in `detail.errors`
   */
  analyze(
    upload: NodeUpload,
    files: ReadonlyMap<string, AnalysedFile>,
    how: NodeAnalysisOptions,
  ): Promise<AnalysedNode>;
  /**
   * Resolves when every host of a cluster can run the deployment. @throws op.storage_damaged 503, op.rate_limited 429,
   * session.worker_unavailable 503, session.storage_full 507
   */
  share(part: NodePart): Promise<void>;
  /** Removes code that no deployment uses. */
  forget(kept: () => readonly NodePart[]): Promise<void>;
};
