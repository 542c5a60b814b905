/** Reads the text format of `GET /metrics`. */

export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Name and labels as they were sent. */
  readonly text: string;
};

export class Metrics {
  readonly samples: readonly Sample[];

  constructor(samples: readonly Sample[]) {
    this.samples = samples;
  }

  of(name: string): readonly Sample[] {
    return this.samples.filter(sample => sample.name === name);
  }

  /** Of all samples that have these labels. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.of(name)
      .filter(sample => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
      .reduce((sum, {value}) => sum + value, 0);
  }

  /** Of the first sample. */
  labels(name: string): Readonly<Record<string, string>> {
    return this.of(name)[0]?.labels ?? {};
  }
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;

export function metricsIn(text: string): Metrics {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = (line.startsWith('#') ? null : LINE.exec(line)) ?? [];
    if (name === undefined) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, of]) => [label!, of!]);
    const whole = labels === '' ? name : `${name}{${labels}}`;
    samples.push({name, labels: Object.fromEntries(pairs), value: Number(value), text: whole});
  }
  return new Metrics(samples);
}
