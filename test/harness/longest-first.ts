/** The order of the test files: in each project those that are known to take long come first, so that none of them runs alone at the end. */
import {relative} from 'node:path';
import {BaseSequencer, type TestSpecification} from 'vitest/node';
import {secondsOf} from './tiers.ts';

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({project}) => project))];
    const seconds = ({moduleId}: TestSpecification) => secondsOf(relative(this.ctx.config.root, moduleId));
    return sorted.sort((a, b) => projects.indexOf(a.project) - projects.indexOf(b.project) || seconds(b) - seconds(a));
  }
}
