/** Seats by the ids that explanations name: `C7`. */
const places = new Map<string, string>();

export function rememberPlaces(row: string, seats: {_id: string; number: number}[]): void {
  for (const {_id, number} of seats) places.set(_id, `${row}${number}`);
}

export function placeOf(id: string): string | undefined {
  return places.get(id);
}
