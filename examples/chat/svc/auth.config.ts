/** Who signs the tokens of its users. `npm run chat` sets the variable to the issuer that it plays; yours is set the same way. */
export default {
  providers: [{domain: process.env.CHAT_ISSUER, applicationID: 'chat'}],
};
