/** Reads the text format of `GET /metrics`. */

export type Sample = {
  readonly value: number;
  /** Name and labels as they were sent. */
  readonly text: string;
};

export function samplesIn(text: string): Sample[] {
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'));
  return lines.map(line => {
    const end = line.lastIndexOf(' ');
    return {text: line.slice(0, end), value: Number(line.slice(end + 1))};
  });
}
