/** What a drill proved about one tenant. Stored in the repository, so that it survives the server. */
import type {DrillCheck, DrilledFile} from '../../shared/ipc/drill.ts';

export type Proof = {
  tenant: string;
  /** Epoch milliseconds of its end. */
  at_ms: number;
  duration_ms: number;
  passed: boolean;
  /** The state that was restored; null: none was. */
  point: {timeline: string; commit: number; sequence: number; time_ms: number} | null;
  /** Of all pages of that state, in hex. */
  digest: string | null;
  documents: number | null;
  records: number | null;
  /** `not_started`: only a server starts code of tenants. */
  functions: DrilledFile['functions'];
  /** The query that ran, and how it ended; null: none did. */
  query: string | null;
  checks: DrillCheck[];
};

export function checksOf({checks, functions, functionFindings}: DrilledFile): DrillCheck[] {
  const ofFile = checks.map(({check, findings}): DrillCheck => ({check, findings, objects: []}));
  if (functions !== 'started' && functions !== 'failed') return ofFile;
  return [...ofFile, {check: 'functions', findings: functionFindings, objects: []}];
}

export function hasPassed(checks: readonly DrillCheck[]): boolean {
  return checks.every(({findings}) => findings.length === 0);
}

/** The first fault, with the objects; null: none. */
export function faultOf({checks}: Pick<Proof, 'checks'>): {finding: string; object: string | null} | null {
  const failed = checks.find(({findings}) => findings.length > 0);
  if (failed === undefined) return null;
  return {finding: `${failed.check}: ${failed.findings[0]}`, object: failed.objects[0] ?? null};
}
