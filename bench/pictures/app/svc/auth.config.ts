export default {
  providers: [{domain: 'https://accounts.example.com', applicationID: 'shop'}],
};
