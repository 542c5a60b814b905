/** What this build is. The two names are replaced when the bundles are made; sources run directly say `dev`. */
declare const __VERSION__: string | undefined;
declare const __BUILD__: string | undefined;

export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-dev';
export const BUILD: string = typeof __BUILD__ === 'string' ? __BUILD__ : 'dev';
