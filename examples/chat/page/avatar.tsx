/** A name's letters on a colour that is always the same for it. */
export function Avatar({name, isSmall = false}: {name: string; isSmall?: boolean}) {
  const letters = name
    .split(/\s+/)
    .map(word => [...word][0] ?? '')
    .slice(0, 2)
    .join('');
  return (
    <span className={isSmall ? 'avatar small' : 'avatar'} style={{'--hue': hueOf(name)} as object} aria-hidden="true">
      {letters.toUpperCase()}
    </span>
  );
}

function hueOf(name: string): number {
  let hash = 0;
  for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  return ((hash >>> 0) * 137.5) % 360;
}
