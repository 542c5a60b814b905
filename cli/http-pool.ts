/** The HTTP client, in a module that is loaded when it is needed: with it a verb takes twice as long to begin. */
export {Pool} from 'undici';
