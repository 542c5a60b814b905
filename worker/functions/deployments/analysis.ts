/** Has a deployment analysed in a thread of its own that ends afterwards, and its memory with it. */
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {ANALYSIS_MS_MAX} from '../../../shared/limits.ts';
import type {AnalysisResult, AnalysisTask} from './analysis-message.ts';

const THREAD = join(dirname(fileURLToPath(import.meta.url)), 'analyze.thread.js');

/** @param thread the built thread file */
export async function analyze(task: AnalysisTask, thread = THREAD): Promise<AnalysisResult> {
  const {Piscina} = await import('piscina');
  const pool = new Piscina<AnalysisTask, AnalysisResult>({filename: thread, minThreads: 1, maxThreads: 1});
  try {
    return await pool.run(task, {signal: AbortSignal.timeout(ANALYSIS_MS_MAX)});
  } catch (caught) {
    if (!(caught instanceof Error) || caught.name !== 'AbortError') throw caught;
    const message = `Loading all modules took longer than ${ANALYSIS_MS_MAX / 1000} seconds`;
    return {manifest: null, errors: [{message, file: null, line: null}]};
  } finally {
    await pool.destroy();
  }
}
