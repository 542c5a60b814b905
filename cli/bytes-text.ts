/** A number of bytes for people. */

const KIB = 1_024;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytesText(bytes: number): string {
  const step = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log(bytes) / Math.log(KIB)));
  return `${(bytes / KIB ** step).toFixed(step === 0 ? 0 : 1)} ${UNITS[step]}`;
}
