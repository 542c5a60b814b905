/** A number with what it counts: `1 tenant`, `2 tenants`. @param what in the singular, with a regular plural */
export function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
