/**
 * The order of the test files: in each project those that are known to take long come first, so that none of them runs alone at the end.
 * SVC_TESTS_SEED orders the others: those that CI has no time for are not always the same.
 */
import {relative} from 'node:path';
import {BaseSequencer, type TestSpecification} from 'vitest/node';
import {rankOf, secondsOf} from './tiers.ts';

const {SVC_TESTS_SEED: seed} = process.env;

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({project}) => project))];
    const name = ({moduleId}: TestSpecification) => relative(this.ctx.config.root, moduleId);
    return sorted.sort(
      (a, b) =>
        projects.indexOf(a.project) - projects.indexOf(b.project) ||
        secondsOf(name(b)) - secondsOf(name(a)) ||
        (seed === undefined ? 0 : rankOf(seed, name(a)) - rankOf(seed, name(b))),
    );
  }
}
