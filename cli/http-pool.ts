/** The HTTP client, in a module that is loaded when it is needed: it takes half of the start of a verb. */
export {Pool} from 'undici';
