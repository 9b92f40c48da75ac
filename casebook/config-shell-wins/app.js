console.log(process.env.CLOUD_ACCOUNT);
