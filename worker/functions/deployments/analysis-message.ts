/** What crosses between the main thread and the analysis thread. */
import type {DeploymentError, DeploymentUpload, Manifest} from '../../../shared/protocol/functions.ts';

export type AnalysisTask = {
  upload: Pick<DeploymentUpload, 'files' | 'modules' | 'schema' | 'authConfig'>;
  timestampMs: number;
  seed: string;
  env: Readonly<Record<string, string>>;
};

/** A manifest, or every reason why there is none. */
export type AnalysisResult = {manifest: Manifest; errors: []} | {manifest: null; errors: DeploymentError[]};
