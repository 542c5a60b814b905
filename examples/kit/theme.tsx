import {createContext, type ReactNode, useContext, useEffect, useMemo, useState} from 'react';
import {Icon} from './icons';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const KEY = 'theme';

const Context = createContext<{theme: Theme; next(): void} | null>(null);

/** Colours follow the system until the reader says otherwise. */
export function ThemeProvider({children}: {children: ReactNode}) {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find(known => known === localStorage.getItem(KEY)) ?? 'system',
  );
  useEffect(() => {
    document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  const value = useMemo(
    () => ({theme, next: () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!)}),
    [theme],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function ThemeButton() {
  const {theme, next} = useContext(Context)!;
  return (
    <button
      type="button"
      className="icon-button"
      onClick={next}
      aria-label={`Colours: ${theme}`}
      title={`Colours: ${theme}`}
    >
      <Icon name={theme} />
    </button>
  );
}
