/** The deployment's URL, put in when the page is bundled. */
declare const SVC_DEPLOYMENT: string;
