/** The version of this build. Bundling replaces the two names; sources that run directly have `dev`. */
declare const __VERSION__: string | undefined;
declare const __BUILD__: string | undefined;

export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-dev';
export const BUILD: string = typeof __BUILD__ === 'string' ? __BUILD__ : 'dev';
