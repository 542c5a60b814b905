/** For every operation requests that succeed and one that is refused, made against a tenant that has something of everything. */
import type {Operation, RouterOperation} from '../../shared/operations.ts';
import type {App} from '../functions/app.ts';
import {controlSamples} from './samples/control.ts';
import {dataSamples} from './samples/data.ts';
import {functionsSamples} from './samples/functions.ts';
import type {Sample} from './samples/sample.ts';
import {scheduleSamples} from './samples/schedule.ts';
import {serverSamples} from './samples/server.ts';

export type Samples = Readonly<Record<Operation | RouterOperation, Sample>>;

/** @param app one that is `filled` */
export async function samplesOf(app: App): Promise<Samples> {
  return {
    ...serverSamples(app),
    ...dataSamples(app),
    ...scheduleSamples(app),
    ...(await functionsSamples(app)),
    ...controlSamples(app),
  };
}
